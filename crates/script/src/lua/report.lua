-- Reports and histograms, and what a script declares of itself.
local core = ...
local sysbench, cmdline = core.sysbench, core.cmdline

-- Rates of a report in the order in which it is written.
local function rates(stat)
  local function rate(count) return count / stat.time_interval end
  return stat.time_total, stat.threads_running, rate(stat.events),
    rate(stat.reads + stat.writes + stat.other), rate(stat.reads), rate(stat.writes),
    rate(stat.other), stat.latency_pct * 1000, rate(stat.errors), rate(stat.reconnects)
end

function sysbench.report_csv(stat)
  print(("%.0f,%u,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f,%4.2f"):format(rates(stat)))
end

function sysbench.report_default(stat)
  local percentile = tostring(core.settings.options.percentile or 95)
  print((("[ %.0fs ] thds: %u tps: %4.2f qps: %4.2f (r/w/o: %4.2f/%4.2f/%4.2f) lat (ms,P%%): "
    .. "%4.2f err/s %4.2f reconn/s: %4.2f"):gsub("P", percentile):format(rates(stat))))
end

local is_json
function sysbench.report_json(stat)
  io.write(is_json and ",\n" or "[\n", ([[
  {
    "time": %4.0f,
    "threads": %u,
    "tps": %4.2f,
    "qps": {"total": %4.2f, "reads": %4.2f, "writes": %4.2f, "other": %4.2f},
    "latency": %4.2f,
    "errors": %4.2f,
    "reconnects": %4.2f
  }]]):format(rates(stat)))
  is_json = true
end

function core.finish_report()
  if is_json then io.write("\n]\n") end
end

-- Logarithmic buckets, as those of --histogram.
local Histogram = {}
Histogram.__index = Histogram
sysbench.histogram = {}
function sysbench.histogram.new(size, low, high)
  local scale = (size - 1) / (math.log(high) - math.log(low))
  return setmetatable({size = size, low = math.log(low), scale = scale, counts = {}}, Histogram)
end

function Histogram:update(value)
  local i = math.floor((math.log(value) - self.low) * self.scale + 0.5)
  i = math.max(0, math.min(self.size - 1, i))
  self.counts[i] = (self.counts[i] or 0) + 1
end

function Histogram:print()
  local most = 0
  for _, count in pairs(self.counts) do most = math.max(most, count) end
  print("       value  ------------- distribution ------------- count")
  for i = 0, self.size - 1 do
    local count = self.counts[i]
    if count then
      local stars = ("*"):rep(math.floor(40 * count / most + 0.5))
      print(("%12.3f |%-40s %d"):format(math.exp(i / self.scale + self.low), stars, count))
    end
  end
end

for i, kind in ipairs({"NULL", "BOOL", "INT", "SIZE", "DOUBLE", "STRING", "LIST", "FILE", "MAX"}) do
  cmdline["ARG_" .. kind] = i - 1
end
local BY_TYPE = {boolean = cmdline.ARG_BOOL, number = cmdline.ARG_DOUBLE, table = cmdline.ARG_LIST,
  string = cmdline.ARG_STRING, ["nil"] = cmdline.ARG_STRING}

-- A value as it would be typed.
local function typed(value)
  if type(value) == "table" then return table.concat(value, ",") end
  if type(value) == "boolean" then return value and "on" or "off" end
  return tostring(value or "")
end

-- LuaJIT's `assert` would add a place of the program.
local function check(is_right, mistake) if not is_right then error(mistake, 0) end end

-- The script's options in the order of their names; nil without any.
local function options(declared)
  if declared == nil then return nil end
  local kind = type(declared)
  check(kind == "table", "wrong type for sysbench.cmdline.options: " .. kind)
  local list = {}
  for name, option in pairs(declared) do
    check(type(option) == "table", "wrong table structure in sysbench.cmdline.options")
    local text, default = option[1], option[2]
    kind = option[3] or BY_TYPE[type(default)]
    check(text, "nil description for option " .. name)
    check(kind, "cannot determine type for option " .. name)
    list[#list + 1] = {name = name, description = text, kind = kind, default = typed(default)}
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

-- Loads the script without a load; returns its options, commands (whether parallel, by name),
-- functions and hooks, and what it printed. Statements of its top level succeed, as in a dry run.
function core.declared()
  local commands, functions, hooks, printed = {}, {}, {}, {}
  core.is_dry, core.print = core.settings.command, function(text) table.insert(printed, text) end
  local user = core.load(0)
  for name, entry in pairs(user.sysbench.cmdline.commands or {}) do
    commands[name] = entry[2] == true
  end
  for name, value in pairs(user.env) do
    if type(value) == "function" then functions[#functions + 1] = name end
  end
  for name in pairs(user.sysbench.hooks) do hooks[#hooks + 1] = name end
  return options(user.sysbench.cmdline.options), commands, functions, hooks, table.concat(printed)
end
