;;; trainlint.el --- Find what would waste a training run  -*- lexical-binding: t; -*-

;; Keywords: languages, tools, python
;; Package-Requires: ((emacs "26.1"))
;; Version: 0.1.0
;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; Registers `trainlint server' with Eglot or with lsp-mode.  Eglot talks to one server per buffer:
;; `trainlint-eglot' makes it trainlint, `trainlint-eglot-beside' puts it beside another server with the
;; multiplexer rass.  In lsp-mode it is an add-on, and runs beside whatever else serves Python.

;;; Code:

(defgroup trainlint nil
  "Static analysis of training scripts."
  :group 'tools)

(defcustom trainlint-command '("trainlint" "server")
  "The command that starts the language server."
  :type '(repeat string))

(defcustom trainlint-multiplexer '("rass")
  "The command that puts several language servers behind one connection.
It is called with the commands of the servers, each behind \"--\"."
  :type '(repeat string))

(defvar eglot-server-programs)
(declare-function lsp-register-client "ext:lsp-mode")
(declare-function make-lsp-client "ext:lsp-mode")
(declare-function lsp-stdio-connection "ext:lsp-mode")

(defconst trainlint--modes '(python-mode python-ts-mode))

;;;###autoload
(defun trainlint-eglot ()
  "Make trainlint the language server that Eglot starts for Python."
  (with-eval-after-load 'eglot
    (push (cons trainlint--modes trainlint-command) eglot-server-programs)))

;;;###autoload
(defun trainlint-eglot-beside (&rest servers)
  "Make Eglot start trainlint and SERVERS for Python.
Each server is a command as a list of strings."
  (let ((programs (apply #'append (mapcar (lambda (server) (cons "--" server))
                                          (cons trainlint-command servers)))))
    (with-eval-after-load 'eglot
      (push (cons trainlint--modes (append trainlint-multiplexer programs)) eglot-server-programs))))

(with-eval-after-load 'lsp-mode
  (lsp-register-client
   (make-lsp-client :new-connection (lsp-stdio-connection (lambda () trainlint-command))
                    :major-modes trainlint--modes
                    :server-id 'trainlint
                    :add-on? t)))

(provide 'trainlint)
;;; trainlint.el ends here
