// Passkeys: get the challenge from the server, let the device sign it, and send the form with the signature.

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (sign) => sign.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

const REFUSED = {
  use: "No passkey was used. The request was canceled or timed out, or this device has no matching passkey.",
  make: "The passkey was not added. The request was canceled or timed out, or this device already has a passkey for this account.",
};

function decode(options) {
  const excluded = (options.excludeCredentials ?? []).map((credential) => ({ ...credential, id: bytes(credential.id) }));
  const publicKey = { ...options, challenge: bytes(options.challenge) };
  if (options.user) Object.assign(publicKey, { user: { ...options.user, id: bytes(options.user.id) }, excludeCredentials: excluded });
  return { publicKey };
}

function encode(credential) {
  const { response } = credential;
  const parts = { clientDataJSON: text(response.clientDataJSON) };
  for (const name of ["attestationObject", "authenticatorData", "signature", "userHandle"]) {
    if (response[name]) parts[name] = text(response[name]);
  }
  return JSON.stringify({ id: credential.id, rawId: text(credential.rawId), type: credential.type, response: parts });
}

async function sign(form) {
  const body = new URLSearchParams(new FormData(form));
  const response = await fetch(form.dataset.options, { method: "POST", body });
  if (!response.ok) {
    const message = response.status === 422 ? (await response.json()).error : "Too many attempts. Try again in a minute.";
    throw Object.assign(new Error(message), { isServerError: true });
  }
  const options = decode(await response.json());
  const credential = form.dataset.passkey === "make" ? navigator.credentials.create(options) : navigator.credentials.get(options);
  return encode(await credential);
}

if (window.PublicKeyCredential) {
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      event.stopPropagation();
      const alertLine = form.querySelector("[data-passkey-error]");
      const button = form.querySelector("button");
      alertLine.textContent = "";
      button.disabled = true;
      try {
        form.elements.credential.value = await sign(form);
        form.submit();
      } catch (error) {
        alertLine.textContent = error.isServerError ? error.message : REFUSED[form.dataset.passkey];
        button.disabled = false;
      }
    });
  }
  document.querySelector("[data-no-passkeys]")?.remove();
}
