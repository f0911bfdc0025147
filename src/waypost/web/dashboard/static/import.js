// Sends large files of imports in pieces, and shows how much has arrived. Without it, the form sends small ones at once.

const SMALL = 1 << 20; // bytes
const MAX_ATTEMPTS = 5;
const FAILED = "The upload failed. Check your connection, then try again.";
const wait = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

// Send a piece; repeat it if the connection or the service fails. Return the size of what has arrived.
async function sendPiece(url, start, piece) {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(`${url}/pieces?start=${start}`, { method: "POST", body: piece }).catch(() => null);
    if (response?.ok) return (await response.json()).size;
    const isTemporary = !response || response.status >= 500 || response.status === 429;
    if (!isTemporary || attempt === MAX_ATTEMPTS) throw new Error(FAILED);
    await wait(Number(response?.headers.get("Retry-After")) || 2 ** attempt);
  }
}

async function upload(form, file) {
  const fields = new FormData(form);
  fields.delete("file");
  fields.set("file_name", file.name);
  fields.set("file_size", file.size);
  const response = await fetch(form.action, { method: "POST", body: fields });
  if (response.status !== 201) return showErrors(form, await response.text());
  const { url, piece_size } = await response.json();
  const bar = form.querySelector("progress");
  bar.closest("p").hidden = false;
  for (let size = 0; size < file.size; bar.value = size / file.size) {
    size = await sendPiece(url, size, file.slice(size, size + piece_size));
  }
  location.assign(url);
}

// Replace the page by the one with the form's errors. The chosen file stays chosen.
function showErrors(form, html) {
  const main = new DOMParser().parseFromString(html, "text/html").querySelector("main");
  const input = main?.querySelector("#file");
  if (!input) throw new Error(FAILED);
  input.files = form.elements.file.files;
  document.querySelector("main").replaceWith(main);
  main.querySelector("[aria-invalid]")?.focus();
}

document.addEventListener("submit", async (event) => {
  const form = event.target;
  const file = form.matches("[data-upload]") && form.elements.file.files[0];
  if (event.defaultPrevented || !file || file.size <= SMALL) return;
  event.preventDefault();
  const problem = form.querySelector(".upload .error");
  problem.textContent = "";
  try {
    await upload(form, file);
  } catch {
    problem.textContent = FAILED;
    form.ariaBusy = null;
  }
});
