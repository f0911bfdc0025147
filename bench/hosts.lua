-- Visits random slugs, each on its custom domain. Arguments: number of slugs; number of domains; round.
local count, domains

function init(args)
  count, domains = tonumber(args[1]), tonumber(args[2])
  math.randomseed(tonumber(args[3]))
end

function request()
  local number = math.random(0, count - 1)
  return string.format("GET /b%06d HTTP/1.1\r\nHost: h%06d.bench.test\r\n\r\n", number, number % domains)
end
