import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** A directory for one test. */
export class TempDirectory {
  readonly path = mkdtempSync(path.join(tmpdir(), "bunting-test-"));
  #next = 0;

  file(name: string): string {
    return path.join(this.path, name);
  }

  /** Writes a file as kubectl and editors do: to a temporary name, then renamed. */
  replace(name: string, content: string | Buffer): void {
    const next = this.file(`.next-${this.#next++}`);
    writeFileSync(next, content);
    renameSync(next, this.file(name));
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
