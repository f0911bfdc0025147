// The QR code designer: keeps colour pickers and text fields in step, and updates the preview image.

const toSixDigits = (text) => {
  const digits = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text.trim())?.[1];
  return digits && `#${digits.length === 3 ? digits.replace(/./g, "$&$&") : digits}`.toLowerCase();
};

for (const picker of document.querySelectorAll("[data-colour]")) {
  const text = document.getElementById(picker.dataset.colour);
  const follow = () => {
    picker.value = toSixDigits(text.value) ?? picker.value;
  };
  picker.hidden = false;
  follow();
  picker.addEventListener("input", () => {
    text.value = picker.value; // the event bubbles to the form, which requests the preview
  });
  text.addEventListener("input", follow);
}

document.body.addEventListener("htmx:afterSwap", (event) => {
  const style = event.target.querySelector("[data-image]");
  const image = document.getElementById("picture"); // kept, so that the old image is visible until the new one is loaded
  if (style && image) image.src = style.dataset.image;
});
