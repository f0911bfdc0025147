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

// Of a chosen file, the part that is used is shown. Without scripts, the page shows it after the upload.
const upload = document.getElementById("logo-form");
upload?.addEventListener("input", async () => {
  const { file, crop, cut_left: left, cut_right: right, cut_top: top, cut_bottom: bottom } = upload.elements;
  const image = file.files[0] && await createImageBitmap(file.files[0]).catch(() => null);
  const canvas = document.getElementById("crop-preview");
  const [x, y] = [left, top].map((field) => Number(field.value) / 100);
  let [width, height] = [[x, right], [y, bottom]].map(([start, end]) => 1 - start - Number(end.value) / 100);
  canvas.hidden = !(image && width > 0 && height > 0);
  if (canvas.hidden) return;
  width *= image.width;
  height *= image.height;
  const side = Math.min(width, height);
  const [shownWidth, shownHeight] = crop.value === "square" ? [side, side] : [width, height];
  const scale = Math.min(1, 256 / Math.max(shownWidth, shownHeight));
  canvas.width = Math.max(1, shownWidth * scale);
  canvas.height = Math.max(1, shownHeight * scale);
  const start = [x * image.width + (width - shownWidth) / 2, y * image.height + (height - shownHeight) / 2];
  canvas.getContext("2d").drawImage(image, ...start, shownWidth, shownHeight, 0, 0, canvas.width, canvas.height);
});
