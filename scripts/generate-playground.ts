/**
 * Bundles the playground, packages/cli/page, into docs/playground/index.html: one file with the linter and the evaluator of the command, which
 * needs no server and no network. Its content security policy lets it ask nobody.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { bundlePage } from "./bundle-page.js";

const root = path.dirname(import.meta.dirname);
const page = path.join(root, "packages/cli/page");
const nodeParts = path.join(page, "node-parts.ts");
const used = ["buffer", "path", "timers/promises", "v8"];

const { html, directives, inputs } = await bundlePage(page, {
  conditions: ["@bunting/source"],
  inject: [nodeParts],
  plugins: [
    {
      name: "parts of node",
      setup: (bundler) => {
        bundler.onResolve({ filter: /^node:/ }, ({ path: name }) => ({
          path: name.slice("node:".length),
          namespace: "node",
          sideEffects: false,
        }));
        bundler.onLoad({ filter: /.*/, namespace: "node" }, ({ path: name }) => ({
          // Of CommonJS, so that modules of which nothing is left in the bundle may import what is not there.
          contents: `module.exports = ${used.includes(name) ? `require(${JSON.stringify(nodeParts)})` : "{}"}`,
          resolveDir: page,
        }));
      },
    },
  ],
});
const others = inputs.filter(
  (name) => name.startsWith("node:") && !used.includes(name.slice("node:".length)),
);
if (others.length > 0)
  throw new Error(`the playground would need ${others.join(", ")}, which a browser has not`);

const folder = path.join(root, "docs/playground");
mkdirSync(folder, { recursive: true });
const policy = `<meta http-equiv="content-security-policy" content="${directives.join("; ")}" />`;
writeFileSync(path.join(folder, "index.html"), `${html.replace("<!-- policy -->", () => policy)}\n`);
