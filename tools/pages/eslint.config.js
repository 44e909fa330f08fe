// Undefined names are found by tsc, which knows the browser.

import js from "@eslint/js";

export default [
  {
    files: ["src/widegap/explorer/page/*.js", "src/widegap/report/templates/*.js"],
    ...js.configs.recommended,
    rules: {
      ...js.configs.recommended.rules,
      "no-undef": "off",
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-shadow": "error",
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Texts of users would become markup; use textContent." },
        { property: "insertAdjacentHTML", message: "Texts of users would become markup; use textContent." },
      ],
      "max-len": ["error", { code: 140, ignoreStrings: true, ignoreTemplateLiterals: true }],
    },
  },
];
