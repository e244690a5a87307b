// Dark or light as it was chosen in the page, or as the system says. It runs before anything is drawn.
const systemDark = matchMedia('(prefers-color-scheme: dark)')

function showTheme() {
  let chosen
  try {
    chosen = localStorage.getItem('eider.theme')
  } catch {
    // Where nothing is kept, the system decides.
  }
  const { classList, dataset } = document.documentElement
  dataset.theme = chosen ?? 'system'
  // What the reader of the API goes by.
  const isDark = chosen === 'dark' || (chosen !== 'light' && systemDark.matches)
  classList.toggle('dark-mode', isDark)
}

showTheme()
systemDark.addEventListener('change', showTheme)
addEventListener('storage', showTheme)
