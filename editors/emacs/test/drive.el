;;; drive.el --- Drives Eglot with trainlint's server  -*- lexical-binding: t; -*-

;;; Commentary:

;; `test.sh' starts it: TRAINLINT is the binary, WORKSPACE a copy of `editors/workspace'; RASS and RUFF, where
;; they are set, are a multiplexer and another server to stand beside.

;;; Code:

(require 'package)
(package-initialize)
(require 'ert)
(require 'cl-lib)
(require 'eglot)
(require 'flymake)
(require 'python)
(require 'trainlint)

(setq eglot-sync-connect t
      eglot-connect-timeout 30
      eglot-autoshutdown nil
      eglot-send-changes-idle-time 0.05
      create-lockfiles nil
      make-backup-files nil)

(defconst drive-finding "missing-zero-grad|opt.step()|t")

(defun drive-until (what holds)
  "Wait until HOLDS gives something, and return it; fail with WHAT."
  (let ((deadline (+ (float-time) 10)) (found nil))
    (while (and (not (setq found (funcall holds))) (< (float-time) deadline))
      ;; Emacs in batch mode is never idle, and Eglot sends edits when it is.
      (mapc #'timer-event-handler (copy-sequence timer-idle-list))
      (accept-process-output nil 0.05))
    (or found (ert-fail (list 'waited-in-vain what (drive-shown) (buffer-string))))))

(defun drive-shown ()
  "What Flymake shows: the code, the text that it marks, and whether it is an error."
  (flymake-start)
  (mapcar (lambda (one)
            (format "%s|%s|%s"
                    (progn (string-match "\\[\\([a-z-]+\\)\\]" (flymake-diagnostic-text one))
                           (match-string 1 (flymake-diagnostic-text one)))
                    (buffer-substring-no-properties (flymake-diagnostic-beg one) (flymake-diagnostic-end one))
                    (eq (flymake-diagnostic-type one) 'eglot-error)))
          (flymake-diagnostics)))

(defun drive-shows (&rest expected)
  "Wait until Flymake shows just EXPECTED."
  (drive-until expected (lambda () (equal (drive-shown) expected))))

(defun drive-go-to (text)
  "Put point on TEXT."
  (goto-char (point-min))
  (search-forward text)
  (goto-char (match-beginning 0)))

(defun drive-choose-action (part)
  "Apply the code action whose title holds PART, as a user takes it from the menu."
  (let (offered (last-nonmenu-event t))
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_prompt collection &rest _)
                 (setq offered (all-completions "" collection))
                 (or (cl-find-if (lambda (title) (string-match-p (regexp-quote part) title)) offered)
                     (ert-fail (list 'no-action part offered))))))
      (call-interactively #'eglot-code-actions))))

(defun drive-hover ()
  "What `eldoc' is told about the thing at point."
  (let (told)
    (eglot-hover-eldoc-function (lambda (text &rest _) (setq told (or text 'nothing))))
    (drive-until "a hover" (lambda () told))
    (should (stringp told))
    (substring-no-properties told)))

(defmacro drive-with-script (&rest body)
  "Run BODY in a fresh copy of the script, managed by Eglot."
  `(let ((file (expand-file-name "train.py" (getenv "WORKSPACE"))))
     (with-current-buffer (find-file-noselect file)
       (python-mode)
       (unwind-protect
           (progn (eglot-ensure)
                  (run-hooks 'post-command-hook)
                  (drive-until "a server" #'eglot-managed-p)
                  ,@body)
         (set-buffer-modified-p nil)
         (when (eglot-current-server) (eglot-shutdown (eglot-current-server)))
         (kill-buffer)))))

(ert-deftest drive-1-shows-the-finding-once ()
  (drive-with-script
   (drive-shows drive-finding)
   (let ((text (flymake-diagnostic-text (car (flymake-diagnostics)))))
     (should (string-match-p "gradients accumulate across steps" text))
     (should (string-match-p "trainlint" text)))))

(ert-deftest drive-2-tells-on-hover-how-it-came-to-be ()
  (drive-with-script
   (drive-shows drive-finding)
   (drive-go-to "opt.step()")
   (let ((told (drive-hover)))
     (should (string-match-p "missing-zero-grad" told))
     (should (string-match-p "gradients" told)))))

(ert-deftest drive-3-follows-edits ()
  (drive-with-script
   (drive-shows drive-finding)
   (goto-char (point-min))
   (insert "\"\"\"Ein Überblick: 😀 𝒳.\"\"\"\n\n")
   (drive-shows drive-finding)
   (drive-go-to "print(\"naïve")
   (insert "print(\"日本\", \"😀\"); ")
   (drive-shows drive-finding)
   (drive-go-to "😀 𝒳")
   (delete-char 3)
   (end-of-line)
   (insert "\nprint(((")
   (delete-char -9)
   (drive-shows drive-finding)
   (drive-go-to "opt.step()")
   (delete-region (line-beginning-position) (line-end-position))
   (drive-until "the end of the finding" (lambda () (not (member drive-finding (drive-shown)))))))

(ert-deftest drive-4-repairs-it-with-one-code-action ()
  (drive-with-script
   (drive-shows drive-finding)
   (drive-go-to "opt.step()")
   (drive-choose-action "Insert `opt.zero_grad()` before the backward pass")
   (drive-go-to "        opt.zero_grad()\n        loss.backward()\n")
   (drive-shows)))

(ert-deftest drive-5-suppresses-it-and-shows-the-page ()
  (drive-with-script
   (drive-shows drive-finding)
   (drive-go-to "opt.step()")
   (drive-choose-action "Ignore `missing-zero-grad` here")
   (drive-shows)
   (drive-go-to "opt.step())  # trainlint: ignore[missing-zero-grad]\n")
   (drive-go-to "missing-zero-grad]")
   (should (string-match-p "radients" (drive-hover)))))

(ert-deftest drive-6-agrees-on-positions-and-ends ()
  (drive-with-script
   (drive-shows drive-finding)
   (let* ((server (eglot-current-server))
          (process (jsonrpc--process server)))
     (should (equal (plist-get (slot-value server 'capabilities) :positionEncoding)
                    (if (< emacs-major-version 29) "utf-16" "utf-8")))
     (eglot-shutdown server)
     (drive-until "the end of the server" (lambda () (not (process-live-p process))))
     ;; Before 30 Eglot killed the server instead of waiting for its end.
     (unless (< emacs-major-version 30)
       (should (equal (process-exit-status process) 0))))))

(ert-deftest drive-7-stands-beside-another-server ()
  (skip-unless (and (getenv "RASS") (getenv "RUFF")))
  (let ((eglot-server-programs nil)
        (trainlint-multiplexer (list (getenv "RASS"))))
    (trainlint-eglot-beside (list (getenv "RUFF") "server"))
    (drive-with-script
     (drive-go-to "    main()")
     (insert "    print(f\"done\")\n")
     (drive-until "both servers" (lambda () (equal (length (drive-shown)) 2)))
     (should (member drive-finding (drive-shown)))
     (drive-go-to "opt.step()")
     (drive-choose-action "Insert `opt.zero_grad()` before the backward pass")
     (drive-go-to "        opt.zero_grad()\n        loss.backward()\n")
     (drive-until "ruff's alone" (lambda () (equal (length (drive-shown)) 1))))))

;;; drive.el ends here
