import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** A directory as kubelet mounts a Secret: `..data` links to the version in use. Remove it after the test. */
export class SecretMount {
  readonly path = mkdtempSync(path.join(tmpdir(), "bunting-secret-"));
  readonly #names = new Set<string>();
  #version = 0;

  constructor(files: Readonly<Record<string, string>>) {
    this.swap(files);
  }

  /** Replaces all files at once. */
  swap(files: Readonly<Record<string, string>>): void {
    const version = `..${++this.#version}`;
    mkdirSync(this.file(version));
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(path.join(this.path, version, name), text);
      if (!this.#names.has(name)) symlinkSync(path.join("..data", name), this.file(name));
      this.#names.add(name);
    }
    symlinkSync(version, this.file("..data_tmp"));
    renameSync(this.file("..data_tmp"), this.file("..data"));
    if (this.#version > 1) rmSync(this.file(`..${this.#version - 1}`), { recursive: true });
  }

  file(name: string): string {
    return path.join(this.path, name);
  }

  remove(): void {
    rmSync(this.path, { recursive: true });
  }
}
