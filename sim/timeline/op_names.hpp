#pragma once
#include <string_view>

/// Names of ops and phases, shared by the simulator and the runtime so that comparing two timelines
/// is a join.
namespace stepcast::op {
inline constexpr std::string_view
    embedding = "embedding",
    position = "position", norm1 = "norm1", norm2 = "norm2", final_norm = "final_norm", qkv = "qkv",
    rope = "rope", attention = "attention", attention_scores = "attention_scores",
    attention_softmax = "attention_softmax", attention_values = "attention_values",
    attention_out = "attention_out", mlp_up = "mlp_up", mlp_act = "mlp_act", mlp_down = "mlp_down",
    residual = "residual", dropout = "dropout", head = "head", loss = "loss", router = "router",
    permute = "permute", dispatch = "dispatch", combine = "combine", expert_up = "expert_up",
    expert_act = "expert_act", expert_down = "expert_down", shared_up = "shared_up",
    shared_act = "shared_act", shared_down = "shared_down", q_down = "q_down", q_up = "q_up",
    kv_down = "kv_down", kv_up = "kv_up", conv = "conv", batch_norm = "batch_norm", relu = "relu",
    pool = "pool", squeeze = "squeeze", fc = "fc", embedding_bag = "embedding_bag",
    interaction = "interaction", bottom_mlp = "bottom_mlp", top_mlp = "top_mlp",
    grad_norm = "grad_norm", clip = "clip", adam = "adam", sgd = "sgd", lamb = "lamb",
    tp_all_reduce = "tp_all_reduce", tp_all_gather = "tp_all_gather",
    tp_reduce_scatter = "tp_reduce_scatter", cp_exchange = "cp_exchange",
    grad_reduce = "grad_reduce", param_gather = "param_gather", send = "send", recv = "recv",
    encode = "encode", decode = "decode", data = "data", qkv_bias = "qkv_bias",
    qkv_grad = "qkv_grad", attention_dropout = "attention_dropout",
    attention_layout = "attention_layout", kv_expand = "kv_expand", residual_grad = "residual_grad",
    grad_accumulate = "grad_accumulate", cast = "cast", unpermute = "unpermute",
    qkv_all_to_all = "qkv_all_to_all", pooler = "pooler", mlm_transform = "mlm_transform",
    q_norm = "q_norm", kv_norm = "kv_norm", param_cast = "param_cast", zero_grad = "zero_grad",
    table_update = "table_update", excite = "excite", custom = "custom";
}  // namespace stepcast::op
namespace stepcast::phase {
inline constexpr std::string_view step = "step", forward = "forward", backward = "backward",
                                  backward_data = "backward_data",
                                  backward_weight = "backward_weight", optimizer = "optimizer";
}  // namespace stepcast::phase
