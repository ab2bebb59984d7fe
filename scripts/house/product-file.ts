import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import ts from "typescript";

/** A source file that ends up in what is shipped. */
export interface ProductFile {
  /** Relative to the checkout. */
  readonly file: string;
  readonly text: string;
  readonly source: ts.SourceFile;
}

export function productFile(file: string, text: string): ProductFile {
  return { file, text, source: ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true) };
}

/** Sources of the packages, without tests, what only tests use, and what is generated. */
export function isProductFile(file: string): boolean {
  return /^packages\/[^/]+\/src\/.*\.ts$/.test(file) && !/\.(test|fixture|child)\.ts$|\/gen\//.test(file);
}

export function readProductFiles(root: string): ProductFile[] {
  const packages = readdirSync(path.join(root, "packages"));
  return packages
    .flatMap((name) => filesBelow(root, path.posix.join("packages", name, "src")))
    .filter(isProductFile)
    .sort()
    .map((file) => productFile(file, readFileSync(path.join(root, file), "utf8")));
}

function filesBelow(root: string, folder: string): string[] {
  const entries = readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, "/"));
}

/** The lines of a text, of which the last ends the file. */
export function lineCount(text: string): number {
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

/** From 1. */
export function lineOf({ source }: ProductFile, node: ts.Node): number {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}

export function forEachNode(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => forEachNode(child, visit));
}
