import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/parts.css";
import "./styles/sessions.css";
import "./styles/conversation.css";
import "./styles/composer.css";
import "./styles/find.css";
import { render } from "preact";
import { App } from "./app.tsx";
import { startRouting } from "./route.ts";
import { applyTheme } from "./theme.ts";

applyTheme();
startRouting();
const root = document.getElementById("app");
if (root) render(<App />, root);
