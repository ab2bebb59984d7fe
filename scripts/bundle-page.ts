import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { build, transform, type BuildOptions } from "esbuild";

const target = ["chrome120", "firefox121", "safari17.2"];

export interface BundledPage {
  /** One text, with the script and the style in it, in ASCII. */
  readonly html: string;
  /** Of a content security policy that allows exactly the script and the style: directives that every page has. */
  readonly directives: readonly string[];
  /** The modules of which something is in the script. */
  readonly inputs: readonly string[];
}

/** Bundles main.ts, style.css and index.html of a folder into one page. */
export async function bundlePage(folder: string, further: BuildOptions = {}): Promise<BundledPage> {
  const bundle = await build({
    entryPoints: [path.join(folder, "main.ts")],
    bundle: true,
    minify: true,
    format: "iife",
    target,
    ...further,
    metafile: true,
    write: false,
  });
  const inputs = Object.values(bundle.metafile.outputs)
    .flatMap((output) => Object.entries(output.inputs))
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .map(([name]) => name);
  const script = (bundle.outputFiles[0]?.text ?? "").trim();
  const styleSource = readFileSync(path.join(folder, "style.css"), "utf8");
  const style = (await transform(styleSource, { loader: "css", minify: true, target })).code.trim();
  if (/<\/(script|style)/i.test(script + style))
    throw new Error("the script or style would end its own element");

  const html = readFileSync(path.join(folder, "index.html"), "utf8")
    .replace(/>\s+</g, "><")
    .replace(/\s*\n\s*/g, " ")
    // One byte a character in memory.
    .replace(/[^\x20-\x7e]/gu, (character) => `&#${character.codePointAt(0) ?? 0};`)
    .replace("<!-- style -->", () => `<style>${style}</style>`)
    .replace("<!-- script -->", () => `<script>${script}</script>`);
  if (!html.includes(script) || !html.includes(style))
    throw new Error("index.html has no place for the script or the style");

  const directives = [
    "default-src 'none'",
    `script-src '${hash(script)}'`,
    `style-src '${hash(style)}'`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return { html, directives, inputs };
}

function hash(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
