import { expect } from "chai";
import { Signal } from "./signal.js";

describe("Signal", () => {
  it("tells those who listen at that time, until they no longer do", () => {
    const signal = new Signal<number>();
    const heard: string[] = [];
    signal.emit(1);
    const stop = signal.listen((value) => heard.push(`a${value}`));
    signal.listen((value) => heard.push(`b${value}`));
    signal.emit(2);
    stop();
    signal.emit(3);
    expect(heard).to.deep.equal(["a2", "b2", "b3"]);
  });
});
