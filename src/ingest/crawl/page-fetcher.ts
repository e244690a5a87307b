export interface FetchedPage {
  /** Where the page was in the end, after redirects. */
  readonly url: string
  readonly status: number
  readonly contentType: string | null
  readonly bytes: Uint8Array
}

export interface FetchOptions {
  readonly signal: AbortSignal
  readonly bytesMax: number
  /** Asked before each request, redirects included; what it throws ends the fetch. */
  beforeRequest?(url: URL): Promise<void>
}

/** Pages of the web; the addresses that may be asked are the implementation's affair. */
export interface PageFetcher {
  /** @throws AppError `address_refused`, `crawl_failed` (no answer, too large, too slow) */
  fetch(url: string, options: FetchOptions): Promise<FetchedPage>
}
