import { openDialog } from "../parts/dialog.js";
import { Help } from "../parts/help.js";

export const killSession = (row) => openDialog(Help, { row });
