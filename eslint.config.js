import tseslint from "typescript-eslint";

const noDefaultExport = { selector: "ExportDefaultDeclaration", message: "Name what you export." };
const noLoopOfModules = {
  selector:
    ":matches(Program, Program > BlockStatement) > :matches(ForStatement, ForOfStatement, ForInStatement, WhileStatement, DoWhileStatement)",
  message:
    "Put the loop into a function. At the top of a module it is part of the one function around a bundle, which V8 then compiles to machine code as a whole: 0.4 MB of each agent.",
};
const noAnySignal = {
  selector: "MemberExpression[object.name='AbortSignal'][property.name='any']",
  message: "Use untilAny: in Node 20, a signal that lives long keeps something of each that was made of it.",
};

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
      "no-restricted-syntax": ["error", noDefaultExport],
      "max-lines": ["error", { max: 300, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: ["packages/*/src/**/*.ts"],
    ignores: ["**/*.{test,fixture,child}.ts"],
    rules: { "no-restricted-syntax": ["error", noDefaultExport, noLoopOfModules, noAnySignal] },
  },
  {
    // A command soon ends.
    files: ["packages/cli/src/**/*.ts"],
    ignores: ["**/*.{test,fixture,child}.ts"],
    rules: { "no-restricted-syntax": ["error", noDefaultExport, noLoopOfModules] },
  },
  {
    files: ["**/*.{test,fixture,child}.ts", "test/**", "bench/**"],
    rules: { "@typescript-eslint/no-unused-expressions": "off", "max-lines": "off" },
  },
);
