/**
 * The JSON-RPC error for a request outside any session. Does not need the SDK, which loads with the
 * first session.
 */
export function refusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })
}
