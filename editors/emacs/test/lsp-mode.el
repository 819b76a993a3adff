;;; lsp-mode.el --- Drives lsp-mode with trainlint's server  -*- lexical-binding: t; -*-

;;; Commentary:

;; `test.sh' starts it where lsp-mode is installed.  lsp-mode registers ruff by itself, so that with ruff on the path
;; trainlint stands beside it.

;;; Code:

(package-initialize)
(require 'ert)
(require 'lsp-mode)
(require 'lsp-diagnostics)
(require 'python)
(require 'trainlint)

(setq trainlint-command (list (getenv "TRAINLINT") "server")
      lsp-auto-guess-root t
      lsp-restart 'ignore
      lsp-enable-file-watchers nil
      lsp-enable-snippet nil
      lsp-diagnostics-provider :flymake
      lsp-idle-delay 0.1
      create-lockfiles nil)

(defun drive-until (what holds)
  "Wait until HOLDS gives something, and return it; fail with WHAT."
  (let ((deadline (+ (float-time) 15)) (found nil))
    (while (and (not (setq found (funcall holds))) (< (float-time) deadline))
      (mapc #'timer-event-handler (copy-sequence timer-idle-list))
      (accept-process-output nil 0.05))
    (or found (ert-fail (list 'waited-in-vain what)))))

(defun drive-codes ()
  "The codes of what is shown."
  (mapcar (lambda (one) (lsp-get one :code)) (lsp--get-buffer-diagnostics)))

(defun drive-action (title)
  "The action of that TITLE at point."
  (seq-find (lambda (one) (equal (lsp-get one :title) title)) (lsp-code-actions-at-point)))

(ert-deftest drive-lsp-mode-shows-the-finding-and-repairs-it ()
  (lsp-workspace-folders-add (getenv "WORKSPACE"))
  (with-current-buffer (find-file-noselect (expand-file-name "train.py" (getenv "WORKSPACE")))
    (python-mode)
    (lsp)
    (drive-until "the finding" (lambda () (equal (drive-codes) '("missing-zero-grad"))))
    (when (executable-find "ruff")
      (drive-until "both servers" (lambda () (equal (length (lsp-workspaces)) 2))))
    (search-forward "opt.step")
    (lsp-execute-code-action (drive-action "Insert `opt.zero_grad()` before the backward pass"))
    (drive-until "no finding" (lambda () (null (drive-codes))))
    (goto-char (point-min))
    (should (search-forward "        opt.zero_grad()\n        loss.backward()\n" nil t))
    (set-buffer-modified-p nil)))

;;; lsp-mode.el ends here
