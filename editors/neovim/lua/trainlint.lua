-- Starts `trainlint server` for Python buffers. `setup` is the same call in every Neovim from 0.7 on: since 0.11
-- it is `vim.lsp.config` and `vim.lsp.enable`; before that the clients are started here, one for each root.
local M = {}

-- The folder of the first marker that is found upwards of the buffer's file; without one the file's own folder.
local function root_of(buffer, markers)
  local folder = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ':p:h')
  local upwards = vim.fn.escape(folder, ' ,;') .. ';'
  for _, marker in ipairs(markers) do
    local found = vim.fn.findfile(marker, upwards)
    if found == '' then
      found = vim.fn.finddir(marker, upwards)
    end
    if found ~= '' then
      local path = vim.fn.fnamemodify(found, ':p'):gsub('/$', '')
      return vim.fn.fnamemodify(path, ':h')
    end
  end
  return folder
end

local function attach(buffer, config, clients)
  if vim.api.nvim_buf_get_name(buffer) == '' or vim.bo[buffer].buftype ~= '' then
    return
  end
  local root = root_of(buffer, config.root_markers)
  if not (clients[root] and vim.lsp.get_client_by_id(clients[root])) then
    clients[root] = vim.lsp.start_client(vim.tbl_extend('force', config, {
      name = 'trainlint',
      root_dir = root,
      workspace_folders = { { uri = vim.uri_from_fname(root), name = root } },
    }))
  end
  if clients[root] then
    vim.lsp.buf_attach_client(buffer, clients[root])
  end
end

-- `vim.lsp.start` came with 0.8, and what it is made of serves 0.7 as well.
local function enable_before_0_11(options)
  local shipped = vim.api.nvim_get_runtime_file('lsp/trainlint.lua', false)[1]
  local config = vim.tbl_deep_extend('force', dofile(shipped), options)
  local clients = {}
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('trainlint', { clear = true }),
    pattern = config.filetypes,
    callback = function(event)
      attach(event.buf, config, clients)
    end,
  })
end

-- `options` are those of `vim.lsp.config`: `cmd`, `init_options`, `on_attach`, ...
function M.setup(options)
  if vim.lsp.config and vim.lsp.enable then
    vim.lsp.config('trainlint', options or {})
    vim.lsp.enable('trainlint')
  else
    enable_before_0_11(options or {})
  end
end

return M
