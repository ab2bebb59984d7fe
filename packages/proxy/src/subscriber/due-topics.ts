/** A topic in the list; `nextDue` is the list's own. */
export interface DueTopic<Self> {
  isDue: boolean;
  nextDue: Self | undefined;
}

/** The topics of a stream that may have something to send, in the order of their wakes: a list through them, so that none is made for it. */
export class DueTopics<Topic extends DueTopic<Topic>> {
  #first: Topic | undefined;
  #last: Topic | undefined;

  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  /** Adds it at the end, unless it is there. */
  add(topic: Topic): void {
    if (topic.isDue) return;
    topic.isDue = true;
    if (this.#last === undefined) this.#first = topic;
    else this.#last.nextDue = topic;
    this.#last = topic;
  }

  /** Removes and returns the first. */
  take(): Topic | undefined {
    const first = this.#first;
    if (first === undefined) return undefined;
    this.#first = first.nextDue;
    if (this.#first === undefined) this.#last = undefined;
    forget(first);
    return first;
  }

  delete(topic: Topic): void {
    if (!topic.isDue) return;
    if (topic === this.#first) {
      this.take();
      return;
    }
    let before = this.#first;
    while (before !== undefined && before.nextDue !== topic) before = before.nextDue;
    if (before !== undefined) before.nextDue = topic.nextDue;
    if (topic === this.#last) this.#last = before;
    forget(topic);
  }

  clear(): void {
    while (!this.isEmpty) this.take();
  }
}

function forget<Topic extends DueTopic<Topic>>(topic: Topic): void {
  topic.isDue = false;
  topic.nextDue = undefined;
}
