import type { TestCounts } from "./test-counts.js";

/** What a mocha tells the process that has started it, as messages between processes; summary-reporter.ts sends them. */
export type TestReport =
  | { readonly kind: "began"; readonly files: number; readonly tests: number }
  | { readonly kind: "file"; readonly file: string }
  /** A test or a hook has failed, also where no test has ended. */
  | { readonly kind: "failed"; readonly file: string; readonly title: string }
  | { readonly kind: "test"; readonly file: string }
  | { readonly kind: "ended"; readonly counts: TestCounts };

/** Set where the output of a mocha is held until it has ended: nobody follows the lines by which it would say what it does. */
export const heldVariable = "BUNTING_TEST_HELD";
