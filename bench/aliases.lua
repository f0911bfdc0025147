-- Visits random links. Arguments: number of links; host; format of the path, with the link's number; round.
local count, path, rest

function init(args)
  count, path = tonumber(args[1]), "GET /" .. args[3]
  rest = " HTTP/1.1\r\nHost: " .. args[2] .. "\r\n\r\n"
  math.randomseed(tonumber(args[4]))
end

function request()
  return string.format(path, math.random(0, count - 1)) .. rest
end
