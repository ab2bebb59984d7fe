export { notText, utf8Of } from "./text/utf8-of.js";
