import path from "node:path";
import type { FileImports, ModuleImport } from "./read-imports.js";
import { resolveImport, type PackageSources } from "./resolve-import.js";

/** Which file imports which. All paths are relative to the checkout. */
export class ImportGraph {
  readonly #files: ReadonlyMap<string, FileImports>;
  readonly #packages: PackageSources;
  readonly #exists: (file: string) => boolean;

  /** @param exists whether there is a file at a path; those that are not in `files` (documents, fixtures) have no imports. */
  constructor(
    files: ReadonlyMap<string, FileImports>,
    packages: PackageSources,
    exists = (file: string): boolean => files.has(file),
  ) {
    this.#files = files;
    this.#packages = packages;
    this.#exists = exists;
  }

  get files(): Iterable<string> {
    return this.#files.keys();
  }

  /** The files that the imports of a file name, types included: an index counts as itself. */
  imported(file: string): Set<string> {
    const targets = (this.#files.get(file)?.imports ?? []).map(({ specifier }) =>
      this.#resolve(specifier, file),
    );
    return new Set(targets.filter((target) => target !== undefined));
  }

  /**
   * The files whose behaviour may change with that of the given ones, which are among them: those that import them, directly or through
   * others, or that name them in a string. Imports of types do not count, because they are gone at run time. An import from an index
   * counts as one of the files that declare the imported names, or a change of any file of a package would reach all that use the package.
   */
  dependents(changed: Iterable<string>): Set<string> {
    const reached = new Set(changed);
    const importers = this.#importers();
    const queue = [...reached];
    for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
      for (const importer of importers.get(file) ?? []) {
        if (reached.has(importer)) continue;
        reached.add(importer);
        queue.push(importer);
      }
    }
    return reached;
  }

  #importers(): Map<string, string[]> {
    const importers = new Map<string, string[]>();
    for (const file of this.#files.keys()) {
      for (const target of this.#runsWith(file)) {
        const known = importers.get(target);
        if (known === undefined) importers.set(target, [file]);
        else known.push(file);
      }
    }
    return importers;
  }

  /** What a file needs at run time, and is not an index. */
  #runsWith(file: string): Set<string> {
    const targets = new Set<string>();
    const { imports = [], namedFiles = [], isIndex = false } = this.#files.get(file) ?? {};
    // Nobody depends on an index as such.
    if (isIndex) return targets;
    for (const { specifier, names, isTypeOnly } of imports) {
      const target = isTypeOnly ? undefined : this.#resolve(specifier, file);
      if (target !== undefined) this.#declaring(target, names, targets);
    }
    for (const name of namedFiles) {
      for (const at of [path.posix.join(path.posix.dirname(file), name), path.posix.normalize(name)]) {
        if (at !== file && this.#exists(at)) targets.add(at);
      }
    }
    return targets;
  }

  /** Adds the files that declare the names which a module exports. */
  #declaring(
    module: string,
    names: ModuleImport["names"],
    found: Set<string>,
    visited = new Set<string>(),
  ): void {
    const index = this.#files.get(module);
    if (index?.isIndex !== true) {
      found.add(module);
      return;
    }
    for (const name of names === "all" ? ["*"] : names) {
      // An index may pass another one on that passes it on itself.
      const visit = `${module} ${name}`;
      if (visited.has(visit)) continue;
      visited.add(visit);
      const passedOn = index.passesOn.filter((entry) => name === "*" || entry.name === name);
      for (const { specifier, original } of passedOn) {
        const target = this.#resolve(specifier, module);
        if (target !== undefined) this.#declaring(target, name === "*" ? "all" : [original], found, visited);
      }
      if (passedOn.length > 0 && name !== "*") continue;
      for (const specifier of index.passesAllOn) {
        const target = this.#resolve(specifier, module);
        if (target === undefined) continue;
        const { isIndex = false, declares = [] } = this.#files.get(target) ?? {};
        if (name === "*" || isIndex || declares.includes(name)) {
          this.#declaring(target, name === "*" ? "all" : [name], found, visited);
        }
      }
    }
  }

  #resolve(specifier: string, file: string): string | undefined {
    return resolveImport(specifier, file, this.#packages, this.#exists);
  }
}
