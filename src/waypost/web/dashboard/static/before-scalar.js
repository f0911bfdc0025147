// A library in Scalar tries whether it may compile code, and does without where it may not. It is told no here, before
// the page's policy would say it: so whatever that reports is worth a look.

globalThis.Function = new Proxy(Function, {
  construct() {
    throw new EvalError("This page compiles no code.");
  },
});
