//! Messages over stdin and stdout. What is no message is passed over, so that one mistake of a client does not
//! end the conversation.

use super::frame::next;
use crossbeam_channel::unbounded;
use lsp_server::{Connection, Message};
use std::io::{self, BufReader};
use std::thread::{self, JoinHandle};

/// A connection, with the thread that writes what is sent.
pub struct Stdio {
    pub connection: Connection,
    writer: JoinHandle<()>,
}

impl Stdio {
    pub fn open() -> io::Result<Stdio> {
        let (incoming, receiver) = unbounded();
        let (sender, outgoing) = unbounded::<Message>();
        thread::Builder::new().name("reader".to_owned()).spawn(move || {
            let mut input = BufReader::new(io::stdin().lock());
            while let Some(message) = next(&mut input) {
                let is_last = matches!(&message, Message::Notification(one) if one.method == "exit");
                if incoming.send(message).is_err() || is_last {
                    return;
                }
            }
        })?;
        let writer = thread::Builder::new().name("writer".to_owned()).spawn(move || {
            let mut output = io::stdout().lock();
            for message in outgoing {
                if message.write(&mut output).is_err() {
                    return;
                }
            }
        })?;
        Ok(Stdio { connection: Connection { sender, receiver }, writer })
    }

    /// Waits until everything is written.
    pub fn close(self) {
        drop(self.connection);
        let _ = self.writer.join();
    }
}
