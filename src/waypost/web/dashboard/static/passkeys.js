// Passkeys: asks the server what to sign, the device to sign it, and sends the form with what it signed.

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

const REFUSED = "That did not work: it was cancelled, took too long, or the device has no passkey for this.";

function asked(options) {
  const known = (options.excludeCredentials ?? []).map((each) => ({ ...each, id: bytes(each.id) }));
  const publicKey = { ...options, challenge: bytes(options.challenge) };
  if (options.user) Object.assign(publicKey, { user: { ...options.user, id: bytes(options.user.id) }, excludeCredentials: known });
  return { publicKey };
}

function told(credential) {
  const { response } = credential;
  const parts = { clientDataJSON: text(response.clientDataJSON) };
  for (const name of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (response[name]) parts[name] = text(response[name]);
  }
  return JSON.stringify({ id: credential.id, rawId: text(credential.rawId), type: credential.type, response: parts });
}

async function answer(form) {
  const body = new URLSearchParams(new FormData(form));
  const reply = await fetch(form.dataset.options, { method: "POST", body });
  if (!reply.ok) {
    const fault = reply.status === 422 ? (await reply.json()).fault : "Too many attempts. Try again in a minute.";
    throw Object.assign(new Error(fault), { isTold: true });
  }
  const options = asked(await reply.json());
  const made = form.dataset.passkey === "make" ? navigator.credentials.create(options) : navigator.credentials.get(options);
  return told(await made);
}

if (window.PublicKeyCredential) {
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      event.stopPropagation();
      const fault = form.querySelector("[data-passkey-error]");
      const button = form.querySelector("button");
      fault.textContent = "";
      button.disabled = true;
      try {
        form.elements.credential.value = await answer(form);
        form.submit();
      } catch (error) {
        fault.textContent = error.isTold ? error.message : REFUSED;
        button.disabled = false;
      }
    });
  }
  document.querySelector("[data-no-passkeys]")?.remove();
}
