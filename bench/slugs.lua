-- Visits random slugs. Arguments: number of slugs; "bare" for wrk's own headers,
-- "browser" for those of a browser; optionally the format of the path, with the slug's number; round.
local browser = {
  "Connection: keep-alive",
  'sec-ch-ua: "Chromium";v="142", "Google Chrome";v="142", "Not_A Brand";v="99"',
  "sec-ch-ua-mobile: ?0",
  'sec-ch-ua-platform: "Windows"',
  "Upgrade-Insecure-Requests: 1",
  "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
  "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
  "Sec-Fetch-Site: cross-site",
  "Sec-Fetch-Mode: navigate",
  "Referer: https://site.example.com/stories/2026/spring-edition",
  "Accept-Language: en-GB,en;q=0.9,de;q=0.8",
}
local count, path, rest

function init(args)
  local headers = { "Host: " .. wrk.headers["Host"] }
  if args[2] == "browser" then
    for _, header in ipairs(browser) do headers[#headers + 1] = header end
  end
  count, path = tonumber(args[1]), "GET /" .. (args[4] and args[3] or "b%06d")
  rest = " HTTP/1.1\r\n" .. table.concat(headers, "\r\n") .. "\r\n\r\n"
  math.randomseed(tonumber(args[#args]))
end

function request()
  return string.format(path, math.random(0, count - 1)) .. rest
end
