declare module '@mixmark-io/domino' {
  /** Parses like the HTML standard, and like browsers. */
  export function createDocument(html: string, force: boolean): Document
}
