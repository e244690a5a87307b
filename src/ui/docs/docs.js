// The search over all documentation pages, and the buttons that copy code.
const input = document.getElementById('search')
const list = document.getElementById('found')
let sections

async function load() {
  sections ??= fetch('/docs/search.json').then((answer) => answer.json())
  return sections
}

function scoreOf([, , heading, text], words) {
  const head = heading.toLowerCase()
  const body = text.toLowerCase()
  let score = 0
  for (const word of words) {
    if (head.includes(word)) score += 10
    else if (body.includes(word)) score += 1
    else return 0
  }
  return score
}

function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 40)
  return (at > 0 ? '…' : '') + text.slice(at, at + 140)
}

function itemOf([href, title, heading, text], word) {
  const item = document.createElement('li')
  const link = document.createElement('a')
  link.href = href
  link.textContent = title === heading ? title : `${title}: ${heading}`
  const line = document.createElement('span')
  line.textContent = excerpt(text, word)
  link.append(line)
  item.append(link)
  return item
}

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
  list.hidden = words.length === 0
  if (words.length === 0) return
  const found = (await load())
    .map((section) => ({ section, score: scoreOf(section, words) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, 20)
  const items = found.map(({ section }) => itemOf(section, words[0]))
  if (items.length === 0) {
    const none = document.createElement('li')
    none.className = 'none'
    none.textContent = 'No section holds all these words'
    items.push(none)
  }
  list.replaceChildren(...items)
}

input.addEventListener('input', search)
input.addEventListener('focus', load)
document.addEventListener('keydown', (event) => {
  if (list.hidden || event.target.closest?.('search') == null) return
  if (event.key === 'Enter' && event.target === input) list.querySelector('a')?.click()
  if (event.key !== 'Escape') return
  list.hidden = true
  input.focus()
})
document.addEventListener('click', (event) => {
  if (event.target.closest('search') === null || event.target.closest('#found a'))
    list.hidden = true
})

document.querySelector('.side-bar [aria-current]')?.scrollIntoView({ block: 'nearest' })

for (const block of document.querySelectorAll('.doc > pre')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'button small copy'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(block.querySelector('code')?.textContent ?? '')
    button.textContent = 'Copied'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 1500)
  })
  block.append(button)
}
