// Code by Zapier → Run JavaScript. It creates a short link, one only if the step runs again. Input Data:
//   base_url  the address of your Waypost, such as https://go.example.com
//   api_key   an API key with the scope links:write
//   url       the URL to shorten
//   title     the title of the link; blank for the title of the page
//   id        what identifies the event of the Zap, such as the ID of its trigger
const { base_url, api_key, url, title, id } = inputData;
const response = await fetch(new URL("/api/v1/links", base_url), {
  method: "POST",
  redirect: "error",
  headers: {
    Accept: "application/json",
    Authorization: `Bearer ${api_key}`,
    "Content-Type": "application/json",
    ...(id && { "Idempotency-Key": encodeURIComponent(`zapier-${id}`).slice(0, 255) }),
  },
  body: JSON.stringify({ destination_url: url, ...(title && { title }) }),
});
const answer = await response.json();
if (!response.ok) {
  const { message, errors = {} } = answer.error;
  throw new Error([message, ...Object.entries(errors).map(([name, texts]) => `${name}: ${texts.join(" ")}`)].join(" "));
}
return { ...answer.data, short_url: `https://${answer.data.short_url}` };
