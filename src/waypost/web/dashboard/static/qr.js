// The designer of codes: a colour is picked or typed, and the picture follows what the server said of the look.

const whole = (text) => {
  const digits = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text.trim())?.[1];
  return digits && `#${digits.length === 3 ? digits.replace(/./g, "$&$&") : digits}`.toLowerCase();
};

for (const picker of document.querySelectorAll("[data-colour]")) {
  const text = document.getElementById(picker.dataset.colour);
  const follow = () => {
    picker.value = whole(text.value) ?? picker.value;
  };
  picker.hidden = false;
  follow();
  picker.addEventListener("input", () => {
    text.value = picker.value; // the event goes on to the form, which asks what is to be said of it
  });
  text.addEventListener("input", follow);
}

document.body.addEventListener("htmx:afterSwap", (event) => {
  const told = event.target.querySelector("[data-image]");
  const picture = document.getElementById("picture"); // stays, so that the old picture is seen until the new one is there
  if (told && picture) picture.src = told.dataset.image;
});
