// The page of hank web: it fetches fragments that the server has made, puts them in place
// part by part, follows what happens, and sends acts. It makes no markup of any text.

const page = document.getElementById('page')
const lost = document.getElementById('lost')
const said = document.getElementById('said')

// The only place where a text becomes markup: a fragment that the server has escaped.
const policy = globalThis.trustedTypes?.createPolicy('hank', { createHTML: text => text })
function markup(text) {
  const holder = document.createElement('template')
  holder.innerHTML = policy ? policy.createHTML(text) : text
  return holder.content
}

// --- the token: from the address once, then in this tab; other tabs of this page share it

const tabs = new BroadcastChannel('hank')
let token = sessionStorage.getItem('token') ?? ''

function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get('k')
  if (given) {
    token = given
    sessionStorage.setItem('token', token)
    history.replaceState(null, '', location.pathname + location.search)
  }
}

tabs.onmessage = ({ data }) => {
  if (data === 'token?' && token) tabs.postMessage({ token })
  if (data.token && !token) {
    token = data.token
    sessionStorage.setItem('token', token)
    show()
  }
}

function ask(path, more = {}) {
  return fetch(path, { ...more, cache: 'no-store', credentials: 'omit', redirect: 'error', headers: { ...more.headers, Authorization: `Bearer ${token}` } })
}

// --- showing a place

let current = 0 // counts what is shown: what comes too late is dropped
let stream = null
let seq = 0
let live = ''

const here = () => location.pathname + location.search
let shown = '' // the place that is shown

async function show({ keep = false } = {}) {
  const turn = ++current
  if (!keep) stream?.abort()
  shown = here()
  if (!token) {
    tabs.postMessage('token?')
    setTimeout(() => { if (!token) tell('Open the address that hank web prints, or that hank web --url prints again.') }, 300)
    return
  }
  let answer, text
  try {
    answer = await ask('/f' + here())
    text = await answer.text()
  } catch {
    if (turn === current) disconnected()
    return
  }
  if (turn !== current) return
  if (!answer.ok) {
    tell(text, answer.status === 401)
    return
  }
  put(markup(text), keep)
  connected()
  seq = Number(page.querySelector('.asof')?.dataset.seq ?? 0)
  live = page.querySelector('.asof')?.dataset.live ?? ''
  document.title = (page.querySelector('h1')?.textContent.trim() ?? '') + ' · hank'
  if (!keep) follow()
}

// put replaces the parts that differ, and keeps what the user has opened, typed, chosen and
// scrolled to.
function put(fragment, keep) {
  const fresh = [...fragment.children]
  fresh.forEach(part => originals.set(part, part.innerHTML))
  if (!keep) {
    page.replaceChildren(...fresh)
    scrollTo(0, 0)
    page.focus({ preventScroll: true })
    page.querySelectorAll('.log[data-follow]').forEach(toEnd)
    return
  }
  const next = fresh.map(part => {
    const old = [...page.children].find(other => other.dataset.part === part.dataset.part)
    if (old && originals.get(old) === originals.get(part)) return old
    if (old) carry(old, part)
    return part
  })
  for (const old of [...page.children]) if (!next.includes(old)) old.remove()
  let at = page.firstElementChild
  for (const part of next) { // what stays is not moved: that would scroll it
    if (part === at) at = at.nextElementSibling
    else page.insertBefore(part, at)
  }
  page.querySelectorAll('.log[data-follow]').forEach(log => { if (log.following !== false) toEnd(log) })
}

// originals is what parts were as they came, before the user has changed them.
const originals = new WeakMap()

// carry takes what the user has done in a part over to the one that replaces it.
function carry(old, part) {
  const at = document.activeElement
  if (old.contains(at)) { // the keys stay at what is the same: the same kind of element, in the same place of those
    const like = [...part.querySelectorAll(at.localName)]
    const same = like.filter(e => e.id === at.id && e.getAttribute('href') === at.getAttribute('href') && e.dataset.act === at.dataset.act)
    const next = same.length === 1 ? same[0] : like[[...old.querySelectorAll(at.localName)].indexOf(at)]
    queueMicrotask(() => next?.focus({ preventScroll: true }))
    if (next && at.selectionStart != null && at.type !== 'radio') queueMicrotask(() => next.setSelectionRange(at.selectionStart, at.selectionEnd))
  }
  const open = new Map([...old.querySelectorAll('details[id]')].map(d => [d.id, d.open]))
  part.querySelectorAll('details[id]').forEach(d => { if (open.has(d.id)) d.open = open.get(d.id) })
  old.querySelectorAll('textarea[id], input[type=search]').forEach(field => {
    const next = field.id ? part.querySelector('#' + CSS.escape(field.id)) : part.querySelector('input[type=search]')
    if (next && field.value) next.value = field.value
  })
  old.querySelectorAll('input[type=radio]:checked').forEach(choice => {
    const next = part.querySelector(`input[name="${choice.name}"][value="${CSS.escape(choice.value)}"]`)
    if (next) next.checked = true
  })
  const logs = part.querySelectorAll('.log')
  old.querySelectorAll('.log').forEach((log, i) => {
    if (!logs[i]) return
    logs[i].following = log.following
    const top = log.scrollTop
    queueMicrotask(() => { if (log.following === false) logs[i].scrollTop = top })
  })
}

function toEnd(log) { log.scrollTop = log.scrollHeight }

function tell(text, token_ = false) {
  const p = document.createElement('p')
  p.className = 'problem'
  p.textContent = text.charAt(0).toUpperCase() + text.slice(1)
  page.replaceChildren(p)
  if (token_) {
    sessionStorage.removeItem('token')
    token = ''
  }
  if (!token) return
  const out = document.createElement('a') // a phone has no key that leads away
  out.href = '/'
  out.textContent = 'Executions'
  page.append(out)
}

// --- following: one line of JSON a message; without a sign of life the page greys out

const patience = 13_000 // the server says every 5 s that it is there
let alive = 0

async function follow() {
  stream?.abort()
  const mine = stream = new AbortController()
  while (!mine.signal.aborted) {
    try {
      const answer = await ask(`/stream?on=${encodeURIComponent(location.pathname)}&since=${seq}&live=${encodeURIComponent(live)}`, { signal: mine.signal })
      if (answer.status === 401) { tell(await answer.text(), true); return }
      if (!answer.ok) throw new Error(answer.status)
      connected()
      let rest = ''
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) throw new Error('the stream has ended')
        connected()
        const lines = (rest + value).split('\n')
        rest = lines.pop()
        if (lines.some(line => line && JSON.parse(line).change)) await refresh()
      }
    } catch {
      if (mine.signal.aborted) return
      disconnected()
      await new Promise(go => setTimeout(go, 1000))
      if (!mine.signal.aborted && navigator.onLine !== false) await refresh()
    }
  }
}

let refreshed = 0
async function refresh() {
  const wait = refreshed + 400 - Date.now()
  if (wait > 0) await new Promise(go => setTimeout(go, wait))
  refreshed = Date.now()
  await show({ keep: true })
}

function connected() {
  alive = Date.now()
  lost.hidden = true
  document.body.classList.remove('lost')
}

function disconnected() {
  const asOf = page.querySelector('.asof')?.textContent.trim() ?? ''
  lost.textContent = 'Connection lost. What is below is ' + (asOf || 'not there') + '.'
  lost.hidden = false
  document.body.classList.add('lost')
}

setInterval(() => { if (alive && Date.now() - alive > patience) disconnected() }, 1000)

// --- places have addresses

function go(address) {
  if (address !== here()) history.pushState(null, '', address)
  show()
}

addEventListener('popstate', () => { if (here() !== shown) show() })
addEventListener('hashchange', () => { takeToken(); if (token && !page.querySelector('.head')) show() })

addEventListener('click', event => {
  const link = event.target.closest('a[href]')
  if (link && link.origin === location.origin && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
    if (link.getAttribute('href').startsWith('#')) return
    event.preventDefault()
    go(link.pathname + link.search)
    return
  }
  const button = event.target.closest('button')
  if (button?.dataset.act) act(button)
  if (button?.dataset.compare) {
    const chosen = name => page.querySelector(`input[name=${name}]:checked`)?.value
    if (!chosen('from')) { notice('Choose a checkpoint to compare from.'); return }
    go(button.dataset.compare + '?' + new URLSearchParams({ from: chosen('from'), ...(chosen('to') ? { to: chosen('to') } : {}) }))
  }
})

addEventListener('keydown', event => {
  const field = event.target.closest?.('input, textarea, dialog')
  if (field?.dataset?.search && event.key === 'Enter') {
    const address = new URL(field.dataset.search, location.origin)
    if (field.value) address.searchParams.set('q', field.value)
    go(address.pathname + address.search)
    return
  }
  if (field || event.ctrlKey || event.metaKey || event.altKey) return
  const tab = page.querySelectorAll('.tabs a')[Number(event.key) - 1]
  if (event.key >= '1' && event.key <= '9' && tab) tab.click()
  if (event.key === 'g') go('/')
  if (event.key === 'n') go('/needs')
  if (event.key === '/' && page.querySelector('input[type=search]')) {
    event.preventDefault()
    page.querySelector('input[type=search]').focus()
  }
  if (event.key === 'f') page.querySelectorAll('.log[data-follow]').forEach(log => {
    log.following = log.following === false
    if (log.following) toEnd(log)
  })
  if (event.key === '?') document.getElementById('keys').showModal()
})
document.getElementById('keys-close').onclick = () => document.getElementById('keys').close()

// Who scrolls up in a transcript reads: it does not move any more.
addEventListener('scroll', event => {
  const log = event.target
  if (log.matches?.('.log[data-follow]')) log.following = log.scrollHeight - log.scrollTop - log.clientHeight < 8
}, true)

// --- acts

const words = {
  approve: ['Approve?', 'The run may pass the gate.'],
  reject: ['Reject?', 'The codon of the gate fails, and its onFailure applies.'],
  skip: ['Skip the running codon?', 'What it has done so far stays, and gets a checkpoint.'],
  stop: ['Stop the run now?', 'The running codon is terminated, and its work is saved.'],
  'stop-after-codon': ['Stop after this codon?', 'The running codon may finish first.'],
  rollback: ['Roll back?', 'The workspace becomes as the preview says. Everything in it is checkpointed first.'],
}

async function act(button) {
  const { act: name, x, ...about } = button.dataset
  const reply = document.getElementById('reply')?.value ?? ''
  if (!await sure(words[name])) return
  button.disabled = true
  try {
    const answer = await ask(`/a/${x}/${name}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ ...about, seq: Number(about.seq), reply }) })
    notice((await answer.text()).trim())
    if (answer.ok && reply) document.getElementById('reply').value = ''
  } catch {
    notice('There was no answer. Whether it was carried out is not known: look at the page.')
  }
  button.disabled = false
  await show({ keep: true })
}

function sure([what, about]) {
  const dialog = document.getElementById('ask')
  document.getElementById('ask-what').textContent = what
  document.getElementById('ask-about').textContent = about
  return new Promise(answered => {
    const answer = yes => { answered(yes); dialog.close() }
    document.getElementById('ask-yes').onclick = () => answer(true)
    document.getElementById('ask-no').onclick = () => answer(false)
    dialog.onclose = () => { if (!dialog.open) answered(false) } // escape; that of the question before may come late
    dialog.showModal()
  })
}

let noticed = 0
function notice(text) {
  said.textContent = text
  clearTimeout(noticed)
  noticed = setTimeout(() => { said.textContent = '' }, 15_000)
}

takeToken()
show()
