"""Hostile markup, and a reader of what came of it."""

import re
from html.parser import HTMLParser

from arena import formulas, markdown
from arena.markdown import NO_ANSWER

ATTRIBUTES = {"a": {"href", "rel", "target"}, "ol": {"start", "dir"}, "span": {"class"}}
ATTRIBUTES |= {tag: {"dir"} for tag in ("p", "h4", "h5", "h6", "ul", "table")}
ATTRIBUTES |= {tag: set(formulas.ATTRIBUTES) for tag in formulas.TAGS}
TAGS = {*markdown.TAGS, *formulas.TAGS, "span"}


PAYLOADS = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<script\x20type='text/javascript'>alert(1)</script\n>",
    "</p><script>alert(1)//",
    "<img src=x onerror=alert(1)>",
    "<img/src='x'/onerror=alert(1)>",
    "<img src=`x` onerror=alert(1)>",
    "<IMG \"\"\"><SCRIPT>alert(1)</SCRIPT>\">",
    "<img src=\"x\" style=\"position:fixed;inset:0\">",
    "<svg onload=alert(1)>",
    "<svg><script>alert&#40;1)</script>",
    "<svg><a xlink:href='javascript:alert(1)'><text x=20 y=20>x</text></a></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<math href='javascript:alert(1)'>CLICK</math>",
    "<style>body{display:none}</style>",
    "<style>@import 'https://evil.example/x.css';</style>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<form action=/vote method=post><button name=winner value=a>Vote A</button></form>",
    "<input autofocus onfocus=alert(1)>",
    "<button onclick=alert(1)>A is better</button>",
    "<textarea autofocus onfocus=alert(1)></textarea>",
    "<select autofocus onfocus=alert(1)></select>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data=data:text/html;base64,PHNjcmlwdD4=></object>",
    "<embed src=javascript:alert(1)>",
    "<details open ontoggle=alert(1)><summary>x</summary></details>",
    "<div style='position:fixed;top:0;left:0;width:100vw;height:100vh;background:#fff'>gone</div>",
    "<p id=vote-a class=btn>x</p>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<base href=https://evil.example/>",
    "<video><source onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)>",
    "<marquee onstart=alert(1)>x</marquee>",
    "<body onload=alert(1)>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?xml version='1.0'?><x onclick=alert(1)>",
    "<x onpointerenter=alert(1)>hover</x>",
    "<a href=javascript:alert(1)>x</a>",
    "<a href='https://x.example' onclick=alert(1)>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](java&#10;script:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](\x01javascript:alert(1))",
    "[x]()",
    "[x](<>)",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example/)",
    "[x](/gradio_api/queue/join)",
    "[x](https:javascript:alert(1))",
    "[x](https://e.example/\"onmouseover=\"alert(1))",
    "[x](https://e.example \"t\\\" onmouseover=alert(1) \\\"\")",
    "[x](https://e.example 'style=position:fixed')",
    "[a]: javascript:alert(1)\n\n[a]",
    "[a]: https://e.example \"><img src=x onerror=alert(1)>\"\n\n[a]",
    "<javascript:alert(1)>",
    "<https://e.example/\"><script>alert(1)</script>>",
    "<mailto:a@e.example>",
    "![x](https://evil.example/p.png?voter=1)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "![x\" onerror=\"alert(1)](https://e.example/x.png)",
    "![<img src=x onerror=alert(1)>](https://e.example/x.png)",
    "[![x](https://e.example/a.png)](javascript:alert(1))",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;img src=x onerror=alert(1)&#62;",
    "&#x3c;svg onload=alert(1)&#x3e;",
    "`<script>alert(1)</script>`",
    "```\"><script>alert(1)</script>\n</code></pre><script>alert(1)</script>\n```",
    "~~~html onload=alert(1) class=x\n<style>*{}</style>\n~~~",
    "|<script>alert(1)</script>|\n|-|\n|<img src=x onerror=alert(1)>|",
    "# <img src=x onerror=alert(1)>",
    "＜script＞alert(1)＜/script＞",
    "<scr\u200bipt>alert(1)</scr\u200bipt>",
    "<\u0000script>alert(1)</script>",
    "\u202e<script>alert(1)</script>",
    "<ſcript>alert(1)</ſcript>",
    "<\ud800script>alert(1)</script>",
    "$\\href{javascript:alert(1)}{x}$",
    "```mermaid\nsequenceDiagram\nA->>B: <img src=x onerror=alert(1)>\n```",
]  # fmt: skip


class Reader(HTMLParser):
    """Collect what is not on the list, and the text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.wrong: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in TAGS:
            self.wrong.append(f"<{tag}>")
        for name, value in attrs:
            if name not in ATTRIBUTES.get(tag, ()):
                self.wrong.append(f"{tag}.{name}={value}")
        found = dict(attrs)
        if tag == "a" and not (
            re.match(r"https?://", found.get("href", "https://"), re.IGNORECASE)
            and found.get("rel") == "nofollow noopener noreferrer"
            and found.get("target") == "_blank"
        ):
            self.wrong.append(f"link {found}")

    def handle_comment(self, data):
        self.wrong.append(f"comment {data}")

    handle_decl = handle_pi = unknown_decl = handle_comment

    def handle_data(self, data):
        self.text.append(data)


def read(rendered: str) -> Reader:
    reader = Reader()
    frame = '<div class="plain" dir="auto">'
    if rendered.startswith(frame):
        rendered = rendered.removeprefix(frame).removesuffix("</div>")
    elif rendered == NO_ANSWER:
        rendered = ""
    reader.feed(rendered)
    reader.close()
    return reader
