-- Requests random paths with one key after the other. Arguments: a file of paths; a file of keys; consecutive requests
-- of a key; by how many keys the start moves each round, so that no key reaches its rate limit; perhaps a value of
-- If-None-Match; round.
local paths, keys, burst, first, sent, condition = {}, {}, 1, 0, 0, ""

function init(args)
  for line in io.lines(args[1]) do paths[#paths + 1] = line end
  for line in io.lines(args[2]) do keys[#keys + 1] = line end
  burst = tonumber(args[3])
  first = tonumber(args[4]) * tonumber(args[#args])
  if #args > 5 then condition = "\r\nIf-None-Match: " .. args[5] end
  math.randomseed(tonumber(args[#args]))
end

function request()
  local key = keys[(first + math.floor(sent / burst)) % #keys + 1]
  sent = sent + 1
  return "GET " .. paths[math.random(#paths)] .. " HTTP/1.1\r\nHost: " .. wrk.headers["Host"]
    .. "\r\nAccept: application/json\r\nAuthorization: Bearer " .. key .. condition .. "\r\n\r\n"
end
