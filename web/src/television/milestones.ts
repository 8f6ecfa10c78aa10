/** How far the page has come on its way to the first picture: marks, as developers' tools show. */

export type Milestone = 'script' | 'offer' | 'answer' | 'connected' | 'welcome' | 'description';

/** The first time counts. */
export function passed(milestone: Milestone): void {
  if (performance.getEntriesByName(milestone, 'mark').length === 0) {
    performance.mark(milestone);
  }
}
