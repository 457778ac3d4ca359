#pragma once

#include <sagabox/outbox.hpp>

#include <string>

/// What a client gets.
struct Answer {
  unsigned status = 200;
  std::string body;  ///< JSON
};

/// Takes orders. An order, its message and the answer to its client are one transaction.
class Orders {
 public:
  Orders(sagabox::Store& store, sagabox::Outbox& outbox);

  /// `order` is the JSON that the client sent. The same key and order again get the same answer,
  /// and make neither a second order nor a second message, however often and however late they
  /// come.
  Answer place(const std::string& idempotency_key, const std::string& order);

 private:
  sagabox::Result<Answer> place_in(sagabox::OwnedTransaction& tx, const std::string& key,
                                   const std::string& order);

  sagabox::Store& store_;
  sagabox::Outbox& outbox_;
};
