/** Prints the sum of the test runs that were recorded in the file given as the argument. */
import { summaryLine, totalOf } from "./test-counts.js";

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error("usage: total.ts <file of counts>");
console.log(summaryLine(totalOf(file)));
