-- Visits random slugs as many visitors behind a proxy. Arguments: number of slugs; number of the first; round.
local agents = {
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
  "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36",
  "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
}
local browser = {
  "Connection: keep-alive",
  "Upgrade-Insecure-Requests: 1",
  "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
  "Sec-Fetch-Site: cross-site",
  "Sec-Fetch-Mode: navigate",
  "Referer: https://site.example.com/stories/2026/spring-edition",
  "Accept-Language: en-GB,en;q=0.9,de;q=0.8",
}
local count, first
local heads = {}

function init(args)
  count, first = tonumber(args[1]), tonumber(args[2])
  math.randomseed(tonumber(args[3]))
  local fixed = " HTTP/1.1\r\nHost: " .. wrk.headers["Host"] .. "\r\n" .. table.concat(browser, "\r\n")
  for number = 1, 4000 do -- an address and a user agent each
    local address = string.format("%d.%d.%d.%d", math.random(1, 223), math.random(0, 255), math.random(0, 255), number % 256)
    heads[number] = fixed .. "\r\nX-Forwarded-For: " .. address .. "\r\nUser-Agent: " .. agents[number % #agents + 1] .. "\r\n\r\n"
  end
end

function request()
  return string.format("GET /b%06d", first + math.random(0, count - 1)) .. heads[math.random(1, 4000)]
end
