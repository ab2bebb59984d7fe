import tseslint from "typescript-eslint";

export default tseslint.config(
  {
    ignores: [
      ...["**/dist/**", ".bunting/**", "**/gen/**", "coverage/**", "eslint.config.js", "**/*.cjs"],
      // JavaScript for readers, without types; tests run it.
      "examples/**/*.mjs",
      // Its imports are installed by `npm run docs` only.
      "docs/site/**",
    ],
  },
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  { languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } } },
  {
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // `() => void f()` says nothing that `() => f()` does not, where a callback's result is ignored.
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/prefer-readonly": "error",
      "no-restricted-syntax": [
        "error",
        { selector: "ExportDefaultDeclaration", message: "Name what you export." },
      ],
      "max-lines": ["error", { max: 300, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ["**/*.{test,fixture,child}.ts", "test/**", "bench/**"],
    rules: { "@typescript-eslint/no-unused-expressions": "off", "max-lines": "off" },
  },
);
