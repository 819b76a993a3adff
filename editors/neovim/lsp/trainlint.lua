-- Neovim 0.11 and later read this file when `vim.lsp.enable('trainlint')` is called.
return {
  cmd = { 'trainlint', 'server' },
  filetypes = { 'python' },
  root_markers = { 'trainlint.toml', '.trainlint.toml', 'pyproject.toml', '.git' },
}
