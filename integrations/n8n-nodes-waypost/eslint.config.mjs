// The rules that n8n checks community nodes with, as its own tool combines them.
import community from "@n8n/eslint-plugin-community-nodes";
import js from "@eslint/js";
import base from "eslint-plugin-n8n-nodes-base";
import typescript from "typescript-eslint";

const { recommended } = community.configs;

export default typescript.config(
  { ignores: ["dist"] },
  { plugins: { "n8n-nodes-base": base } },
  { files: ["**/*.ts"], extends: [js.configs.recommended, typescript.configs.recommended, recommended] },
  {
    files: ["package.json"],
    extends: [recommended],
    rules: base.configs.community.rules,
    languageOptions: { parser: typescript.parser, parserOptions: { extraFileExtensions: [".json"] } },
  },
  {
    files: ["credentials/**/*.ts"],
    rules: {
      ...base.configs.credentials.rules,
      "n8n-nodes-base/cred-class-field-documentation-url-miscased": "off", // of n8n's own nodes
    },
  },
  {
    files: ["nodes/**/*.ts"],
    rules: {
      ...base.configs.nodes.rules,
      // of older versions of n8n, and against the rules of recommended
      "n8n-nodes-base/node-class-description-inputs-wrong-regular-node": "off",
      "n8n-nodes-base/node-class-description-outputs-wrong": "off",
    },
  },
);
