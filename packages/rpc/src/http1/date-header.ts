/** The Date header, which changes once a second. */
export class DateHeader {
  #second = 0;
  #line = "";

  get line(): string {
    const now = Date.now();
    const second = Math.floor(now / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#line = `Date: ${new Date(now).toUTCString()}\r\n`;
    }
    return this.#line;
  }
}
