import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";

/** The comment by which a bundle names its map, as esbuild writes it. */
const mapComment = /\n\/\/# sourceMappingURL=\S+\n*$/;

/**
 * Copies a file or a folder of a build, without source maps and without the comments that name them: they would lead nowhere. Modes are kept, for
 * what can be executed.
 */
export function copyBuilt(source: string, target: string): void {
  const { mode } = statSync(source);
  if (statSync(source).isDirectory()) {
    mkdirSync(target, { recursive: true });
    for (const name of readdirSync(source)) copyBuilt(path.join(source, name), path.join(target, name));
    return;
  }
  if (source.endsWith(".map")) return;
  mkdirSync(path.dirname(target), { recursive: true });
  if (/\.[cm]?js$/.test(source))
    writeFileSync(target, readFileSync(source, "utf8").replace(mapComment, "\n"), { mode });
  else copyFileSync(source, target);
}
