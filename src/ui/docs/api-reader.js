// Shows this server's OpenAPI document in Swagger UI, without requests to other hosts. The error
// codes are beside it if there is room, otherwise folded above it.
const codes = document.querySelector('.codes')
const wide = matchMedia('(width >= 80rem)')
const place = () => {
  codes.open = wide.matches
}
place()
wide.addEventListener('change', place)
globalThis.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reader',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  displayRequestDuration: true,
  validatorUrl: null,
  syntaxHighlight: { activated: true },
})
