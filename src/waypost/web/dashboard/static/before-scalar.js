// A library in Scalar tests whether it may compile code, and works without. This refuses the test before the
// Content-Security-Policy does, so that every violation that the browser reports is unexpected.

globalThis.Function = new Proxy(Function, {
  construct() {
    throw new EvalError("This page compiles no code.");
  },
});
