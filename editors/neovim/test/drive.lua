-- Drives a real Neovim (0.7 or later) through what a user does with trainlint, and ends with 1 if a step fails.
-- `test.sh` starts it: TRAINLINT is the binary, WORKSPACE a copy of `editors/workspace`, and RUFF, where there is
-- one, another server to stand beside.
local trainlint, workspace, ruff = os.getenv('TRAINLINT'), os.getenv('WORKSPACE'), os.getenv('RUFF')
local modern = vim.lsp.config ~= nil
local passed, failed = 0, 0
local ended

local function say(text)
  io.stdout:write(text .. '\n')
end

local function step(name, run)
  local ok, why = xpcall(run, debug.traceback)
  passed, failed = passed + (ok and 1 or 0), failed + (ok and 0 or 1)
  say((ok and 'ok      ' or 'FAILED  ') .. name .. (ok and '' or '\n' .. tostring(why)))
end

local function same(found, expected, what)
  if not vim.deep_equal(found, expected) then
    error(what .. ': expected ' .. vim.inspect(expected) .. ', found ' .. vim.inspect(found), 2)
  end
end

local function eventually(what, holds)
  if not vim.wait(10000, holds, 10) then
    error('waited in vain: ' .. what .. '; diagnostics ' .. vim.inspect(vim.diagnostic.get(0)), 2)
  end
end

local function lines(buffer)
  return vim.api.nvim_buf_get_lines(buffer or 0, 0, -1, false)
end

local function text(buffer)
  return table.concat(lines(buffer), '\n')
end

local function line_of(part)
  for number, line in ipairs(lines()) do
    if line:find(part, 1, true) then
      return number
    end
  end
  error('no line holds ' .. part, 2)
end

local function put_cursor_on(part)
  local number = line_of(part)
  vim.api.nvim_win_set_cursor(0, { number, lines()[number]:find(part, 1, true) - 1 })
end

-- What each diagnostic stands on, which is right only if both sides count the same units.
local function marked()
  local found = {}
  for _, one in ipairs(vim.diagnostic.get(0)) do
    local line = lines()[one.lnum + 1] or ''
    local code = one.code or one.user_data.lsp.code
    table.insert(found, code .. ': ' .. line:sub(one.col + 1, one.end_lnum == one.lnum and one.end_col or -1))
  end
  table.sort(found)
  return found
end

local function shows(expected)
  local want = table.concat(expected, '\n')
  eventually('diagnostics ' .. vim.inspect(expected), function()
    return table.concat(marked(), '\n') == want
  end)
  -- A second source of the same diagnostics (pull beside push) shows up only a little later.
  vim.wait(300)
  same(marked(), expected, 'diagnostics')
end

-- The menu of code actions asks through `vim.ui.select`: take the item that the user would take.
local function choose_action(part)
  local offered, taken
  local select = vim.ui.select
  vim.ui.select = function(items, options, chosen)
    offered = {}
    for _, item in ipairs(items) do
      local title = options.format_item(item)
      table.insert(offered, title)
      if not taken and title:find(part, 1, true) then
        taken = true
        chosen(item)
      end
    end
  end
  vim.lsp.buf.code_action()
  vim.wait(10000, function() return offered ~= nil end, 10)
  vim.ui.select = select
  if not taken then
    error('no code action with "' .. part .. '" in ' .. vim.inspect(offered), 2)
  end
end

local function hover_text()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then
      vim.api.nvim_win_close(window, true)
    end
  end
  vim.lsp.buf.hover()
  local shown
  eventually('a hover', function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(window).relative ~= '' then
        shown = text(vim.api.nvim_win_get_buf(window))
        vim.api.nvim_win_close(window, true)
        return true
      end
    end
  end)
  return shown
end

local function says(shown, parts)
  for _, part in ipairs(parts) do
    if not shown:find(part, 1, true) then
      error('"' .. part .. '" is not in:\n' .. shown, 2)
    end
  end
end

local function client()
  if modern then
    return vim.lsp.get_clients({ name = 'trainlint' })[1]
  end
  return vim.lsp.get_active_clients()[1]
end

local finding = 'missing-zero-grad: opt.step()'
local original

vim.cmd('filetype on')
require('trainlint').setup({ cmd = { trainlint, 'server' }, on_exit = function(code) ended = code end })
vim.cmd('edit ' .. vim.fn.fnameescape(workspace .. '/train.py'))
original = lines()

step('starts, and agrees on positions', function()
  eventually('a client', function() return client() and client().server_capabilities ~= nil end)
  same(vim.fn.resolve(client().config.root_dir), vim.fn.resolve(workspace), 'root')
  same(client().offset_encoding, modern and 'utf-8' or 'utf-16', 'encoding')
end)

step('shows the finding, once, behind multibyte text', function()
  shows({ finding })
  local one = vim.diagnostic.get(0)[1]
  same({ one.lnum + 1, one.severity, one.source }, { line_of('opt.step()'), vim.diagnostic.severity.ERROR, 'trainlint' },
    'line, severity, source')
  local lsp = one.user_data.lsp
  says(lsp.relatedInformation[1].message, { 'gradients' })
end)

step('tells on hover how it came to be', function()
  put_cursor_on('opt.step()')
  says(hover_text(), { 'missing-zero-grad', 'gradients' })
end)

step('follows edits, multibyte and broken ones', function()
  vim.api.nvim_buf_set_lines(0, 0, 0, false, { '"""Ein Überblick: 😀 𝒳."""', '' })
  shows({ finding })
  local number = line_of('opt.step()')
  vim.api.nvim_buf_set_text(0, number - 1, 8, number - 1, 8, { 'print("日本", "😀"); ' })
  shows({ finding })
  vim.api.nvim_buf_set_text(0, 0, 4, 0, 15, { 'é' })
  vim.api.nvim_buf_set_lines(0, number, number, false, { '        print(((' })
  vim.api.nvim_buf_set_lines(0, number, number + 1, false, {})
  shows({ finding })
  vim.cmd('normal! gg2ddG')
  vim.api.nvim_buf_set_lines(0, line_of('opt.step()') - 1, line_of('opt.step()'), false, {})
  vim.wait(300)
  same(vim.tbl_filter(function(one) return one == finding end, marked()), {}, 'the step is gone')
  vim.cmd('silent undo 0')
  same(lines(), original, 'undone')
  shows({ finding })
end)

step('repairs it with one code action', function()
  put_cursor_on('opt.step()')
  choose_action('Insert `opt.zero_grad()` before the backward pass')
  shows({})
  local expected = vim.deepcopy(original)
  table.insert(expected, line_of('loss.backward()') - 1, '        opt.zero_grad()')
  same(lines(), expected, 'text')
  vim.cmd('silent undo')
  same(lines(), original, 'undone')
  shows({ finding })
end)

step('suppresses it on the line, and shows the page on the comment', function()
  put_cursor_on('opt.step()')
  choose_action('Ignore `missing-zero-grad` here')
  shows({})
  same(lines()[line_of('opt.step()')], '        print("naïve 😀", opt.step())  # trainlint: ignore[missing-zero-grad]', 'line')
  put_cursor_on('missing-zero-grad]')
  says(hover_text(), { 'missing-zero-grad', 'radients' })
end)

if ruff then
  step('stands beside another server', function()
    vim.cmd('silent undo 0')
    local start = vim.lsp.start or vim.lsp.start_client
    local other = start({ name = 'ruff', cmd = { ruff, 'server' }, root_dir = workspace })
    vim.lsp.buf_attach_client(0, other)
    local number = line_of('if __name__')
    vim.api.nvim_buf_set_lines(0, number, number, false, { '    print(f"done")' })
    local beside = 'F541: f"done"'
    shows({ beside, finding })
    put_cursor_on('opt.step()')
    choose_action('Insert `opt.zero_grad()` before the backward pass')
    shows({ beside })
    put_cursor_on('f"done"')
    choose_action('Remove extraneous `f` prefix')
    shows({})
    vim.lsp.get_client_by_id(other).stop(vim.lsp.get_client_by_id(other))
  end)
end

step('ends when told to', function()
  client().stop(client())
  eventually('the end of the server', function() return ended ~= nil end)
  same(ended, 0, 'exit status')
end)

say(('neovim %d.%d: %d passed, %d failed'):format(vim.version().major, vim.version().minor, passed, failed))
vim.cmd(failed > 0 and 'cquit 1' or 'qall!')
