// The QR code designer: keeps color pickers and text fields in step, and updates the preview image.

const toSixDigits = (text) => {
  const digits = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text.trim())?.[1];
  return digits && `#${digits.length === 3 ? digits.replace(/./g, "$&$&") : digits}`.toLowerCase();
};

for (const picker of document.querySelectorAll("[data-color]")) {
  const text = document.getElementById(picker.dataset.color);
  const updatePicker = () => {
    picker.value = toSixDigits(text.value) ?? picker.value;
  };
  picker.hidden = false;
  updatePicker();
  picker.addEventListener("input", () => {
    text.value = picker.value; // the event bubbles to the form, which requests the preview
  });
  text.addEventListener("input", updatePicker);
}

// A corrected field loses its error; the preview shows the errors of the new values.
document.getElementById("style-form").addEventListener("input", ({ target, currentTarget }) => {
  const field = target.closest(".invalid");
  if (!field) return;
  field.classList.remove("invalid");
  field.querySelector(".error").remove();
  field.querySelector("[aria-invalid]").removeAttribute("aria-invalid");
  if (!currentTarget.querySelector(".invalid")) currentTarget.querySelector(".notice.bad")?.remove();
});

document.body.addEventListener("htmx:afterSwap", (event) => {
  const style = event.target.querySelector("[data-image]");
  const image = document.getElementById("image"); // the element stays, so that the old image is visible until the new one is loaded
  if (style && image) image.src = style.dataset.image;
});

// A preset changes the fields, so what is typed elsewhere in the form stays.
for (const preset of document.querySelectorAll("[data-preset]")) {
  preset.addEventListener("click", (event) => {
    event.preventDefault();
    const form = document.getElementById("style-form");
    for (const [name, value] of Object.entries(JSON.parse(preset.dataset.preset))) form.elements[name].value = value;
    for (const other of document.querySelectorAll("[data-preset]")) other.removeAttribute("aria-current");
    preset.setAttribute("aria-current", "true");
    for (const text of form.querySelectorAll("#foreground, #background")) text.dispatchEvent(new Event("input", { bubbles: true }));
  });
}
